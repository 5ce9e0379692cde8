/** What a guest may use, and when, as both APIs write it. Without places: everything. */

export type { Limits } from "@domogate/client/models/shared";
