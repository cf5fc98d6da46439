// Seeded random numbers: the same seed produces the same session on every machine.

export function seeded(seed) {
	let state = seed >>> 0;

	// mulberry32, whose 32 bits of state are enough for filler.
	function uint32() {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return (t ^ (t >>> 14)) >>> 0;
	}

	const unit = () => uint32() / 0x1_0000_0000;

	return {
		uint32,
		unit,
		/** An integer from `low` to `high`, both included. */
		between: (low, high) => low + Math.floor(unit() * (high - low + 1)),
		chance: (share) => unit() < share,
		pick: (list) => list[Math.floor(unit() * list.length)],
		/** A size: mostly small, sometimes far above the mean, never above `cap`. */
		exponential: (mean, cap) => Math.min(cap, Math.round(-Math.log(1 - unit()) * mean)),
		hex: (digits) => {
			let text = "";
			while (text.length < digits) text += uint32().toString(16).padStart(8, "0");
			return text.slice(0, digits);
		},
	};
}
