/** Loader hook: a module that is missing beside its importer is looked up in the pages' other folder. */
import { existsSync } from "node:fs";

const FOLDERS = ["visualize/assets/", "server/static/"].map(
  (folder) => new URL(`../../src/tongsa/${folder}`, import.meta.url),
);

export const resolve = (specifier, context, next) => {
  const isPageModule = specifier.startsWith("./") && FOLDERS.some(({ href }) => context.parentURL?.startsWith(href));
  if (!isPageModule) return next(specifier, context);
  const url = FOLDERS.map((folder) => new URL(specifier, folder)).find((file) => existsSync(file));
  return next(url?.href ?? specifier, context);
};
