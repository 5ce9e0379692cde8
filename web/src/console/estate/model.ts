/** The answers of the management API about the estate file. */

type Counts = Readonly<Record<string, number>>;

export interface EstateProblem {
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly problem: string;
  readonly allowed: string;
  readonly hint: string;
}

export interface EstateCheck {
  readonly problems: readonly EstateProblem[];
  readonly total: number;
}

export interface ImportSummary {
  readonly added: Counts;
  readonly updated: Counts;
  readonly removed: Counts;
}

export interface RecordChange {
  readonly noun: string;
  readonly change: string;
  readonly id: string;
  readonly name: string;
  readonly fields: readonly string[];
}

export interface Difference extends ImportSummary {
  readonly changes: readonly RecordChange[];
}

export interface EstateImport extends ImportSummary {
  readonly number: number;
  readonly at: string;
  readonly email: string | null;
  readonly prune: boolean;
  readonly hasDocument: boolean;
}
