export interface KillTotal {
	kills: number;
	acknowledged: number;
	files: number;
	deleted: number;
	/** Writers that had the lock. */
	locked: number;
	/** Others that were refused it meanwhile. */
	refused: number;
	/** Redactions, repairs and merges of the file that is written to. */
	rewritten: number;
	/** Lines that a kill cut, each alone. */
	cut: number;
	/** Originals that repairs kept, all whole. */
	kept: number;
}

export function killLoop(options: {
	kills: number;
	seed: number;
	scratch: string;
	each?: number;
	progress?: (total: KillTotal) => void;
}): Promise<KillTotal>;

/** What the loop itself writes as a damaged line. */
export const DAMAGE: string;

export function isCut(text: string): boolean;
