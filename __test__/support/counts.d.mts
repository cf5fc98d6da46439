export const COUNTS: Record<string, Record<"taste" | "full" | "long", number>>;
export function count(name: string, column?: string): number;
