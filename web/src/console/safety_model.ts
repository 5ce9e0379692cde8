/** The answers of the management API about emergency lighting. The types are those of the TypeScript client. */

export type { LogbookEntry, PlannedTest, SafetySite, SafetyUnit, SparePartsOrder as SpareParts } from "@domogate/client/models/management";
