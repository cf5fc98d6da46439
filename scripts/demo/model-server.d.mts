export interface ScriptedStep {
	thinking?: string;
	text?: string;
	toolCalls?: { id: string; name: string; arguments: Record<string, unknown> }[];
	usage?: Record<string, unknown>;
	finishReason?: string;
	status?: number;
	error?: string;
}
export interface ModelServer {
	baseUrl: string;
	requests: { path: string; body: { messages: { role: string; content: unknown }[]; [key: string]: unknown } }[];
	remaining(): number;
	close(): Promise<void>;
}
export function startModelServer(steps: ScriptedStep[], options?: { pauseMs?: number }): Promise<ModelServer>;
