export function compareDeclarations(dirs: { pi: string; types: string }): string[];
