/** Resolve imports as the server does: /static/ is one folder of the files in server/static and visualize/assets. */
import { register } from "node:module";

register("./resolve.js", import.meta.url);
