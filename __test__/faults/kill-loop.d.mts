export function killLoop(options: {
	kills: number;
	seed: number;
	scratch: string;
	each?: number;
	progress?: (total: { kills: number }) => void;
}): Promise<{ kills: number; acknowledged: number; files: number; deleted: number }>;
