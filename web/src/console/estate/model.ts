/** The answers of the management API about the estate file. The types are those of the TypeScript client. */

export type {
  EstateCheck,
  EstateDifference as Difference,
  EstateImport,
  EstateProblem,
  ImportSummary,
  RecordChange,
} from "@domogate/client/models/management";
