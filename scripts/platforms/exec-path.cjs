// Required by every Node of a run on another platform: vitest itself stays on this machine's Node, and starts its
// workers, and what they start, on the platform's.
process.execPath = process.env.PSN_PLATFORM_NODE;
