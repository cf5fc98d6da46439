export const root: string;
export const nodeBin: string;
export const piPackage: string;
export const referencePackage: string;
export const referenceVersion: string;
export const earlierPackage: string;
export const earlierVersion: string;
export const referenceModule: string;
export const moduleUnderTest: string;
export function isInstalled(): boolean;
export function agentDirOf(home: string): string;
export function isolatedEnv(home: string): Record<string, string>;
export function writeAgentDir(home: string, baseUrl: string, settings?: Record<string, unknown>): void;
export interface PiCommand {
	command: string;
	args: string[];
	env: Record<string, string>;
}
export function piCommand(
	args: string[],
	options: { home: string; sessionModule: string; hookLog?: string },
): PiCommand;
