// A pi extension with one command: `/rewind <n> [--summarize] [label]` moves the leaf before the n-th user message of
// the active branch (0 is the first), so that the next prompt begins a second branch. The label marks the entry.
export default function rewindExtension(pi) {
	pi.registerCommand("rewind", {
		description: "Go back to before the n-th user message of this branch",
		handler: async (args, context) => {
			const [number = "0", ...words] = args.trim().split(/\s+/);
			const summarize = words[0] === "--summarize";
			const label = words.slice(summarize ? 1 : 0).join(" ");
			const branch = context.sessionManager.getBranch();
			const prompts = branch.filter((entry) => entry.type === "message" && entry.message.role === "user");
			const target = prompts[Number(number)];
			if (!target) throw new Error(`This branch has no user message ${number}`);
			await context.navigateTree(target.id, { summarize, ...(label ? { label } : {}) });
		},
	});
}
