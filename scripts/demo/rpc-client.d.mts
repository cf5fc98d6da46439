import type { PiCommand } from "./pi.mjs";

export type RpcRecord = Record<string, any>;
export interface RpcClient {
	readonly pid: number | undefined;
	records: RpcRecord[];
	send(command: Record<string, unknown>): Promise<RpcRecord>;
	prompt(message: string, more?: Record<string, unknown>): Promise<RpcRecord>;
	close(): Promise<{ code: number | null; stderr: string }>;
}
export function startRpc(
	command: PiCommand,
	options: { cwd: string; onRecord?: (record: RpcRecord) => void },
): RpcClient;
