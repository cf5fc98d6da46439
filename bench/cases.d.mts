/** Cases whose name is, or starts with, one of those asked for; throws for a name that is none's. */
export function select(wanted: readonly string[] | undefined, quick: boolean): { name: string }[];
export const CASES: { name: string }[];
