export interface KillTotal {
	kills: number;
	acknowledged: number;
	files: number;
	deleted: number;
	/** Writers that had the lock. */
	locked: number;
	/** Other writers that were refused the lock meanwhile. */
	refused: number;
	/** Redactions, repairs and merges of the writer's file. */
	rewritten: number;
	/** Lines that a kill cut, each in a line of its own. */
	cut: number;
	/** Originals that repairs kept, all complete. */
	kept: number;
}

export function killLoop(options: {
	kills: number;
	seed: number;
	scratch: string;
	each?: number;
	progress?: (total: KillTotal) => void;
}): Promise<KillTotal>;

/** The damaged line that the loop itself writes. */
export const DAMAGE: string;

export function isCut(text: string): boolean;
