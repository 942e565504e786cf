/** Start of the page. */
import { mount } from "./page.js";

mount(document);
