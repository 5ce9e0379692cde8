/** The answers of the management API about emergency lighting. */

export interface PlannedTest {
  readonly last: { readonly endedAt: string; readonly failure: string | null } | null;
  readonly dueAt: string | null;
  readonly standing: "in time" | "due soon" | "overdue" | "never tested";
}

export interface SafetyUnit {
  readonly id: string;
  readonly name: string;
  readonly place: string;
  readonly status: string;
  readonly failures: readonly { readonly type: string }[];
  readonly functionTest: PlannedTest;
  readonly durationTest: PlannedTest;
}

interface StatusCounts {
  readonly total: number;
  readonly working: number;
  readonly inFailure: number;
  readonly noCommunication: number;
}

export interface SafetySite {
  readonly name: string;
  readonly summary: {
    readonly complies: boolean;
    readonly controllers: StatusCounts;
    readonly units: StatusCounts;
    readonly functionTests: { readonly overdue: number };
    readonly durationTests: { readonly overdue: number };
    readonly simulated: number;
  };
  readonly controllers: readonly { readonly id: string; readonly name: string; readonly place: string; readonly units: readonly SafetyUnit[] }[];
}

export interface LogbookEntry {
  readonly number: number;
  readonly at: string;
  readonly kind: string;
  readonly module: string;
  readonly failure: string | null;
  readonly words: string;
  readonly by: string;
  readonly simulated: boolean;
}

export interface SpareParts {
  readonly lines: readonly { readonly reference: string; readonly type: string; readonly quantity: string; readonly needs: readonly { readonly name: string }[] }[];
  readonly withoutParts: readonly { readonly name: string; readonly part: string }[];
}
