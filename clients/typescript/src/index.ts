export { connect, Client } from "./client.js";
export type {
  Document, ListOptions, Page, ReadOptions, WatchOptions, WriteOptions, Written,
} from "./client.js";
export { HotrowError } from "./error.js";
export type { Options } from "./transport.js";
export type { AnyDatabase, Insert, Key, Query, Resource, Row, Update } from "./types.js";
export type { State } from "./watch.js";
