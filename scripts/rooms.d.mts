export const ROOMS: { core: string[]; js: string[] };
export function readSources(root: string): Map<string, string>;
export function importProblems(sources: Map<string, string>): string[];
