// The library as the command uses it. The library reads and writes sessions; the command only shows them.
export { CURRENT_SESSION_VERSION, SessionManager, findMostRecentSession, getConfiguredSessionDir, getDefaultSessionDir } from "../../index.mjs";

/** @typedef {import("../../index.js").SessionEntry} SessionEntry */
/** @typedef {import("../../index.js").SessionHeader} SessionHeader */
/** @typedef {import("../../index.js").SessionInfo} SessionInfo */
/** @typedef {import("../../index.js").SearchHit} SearchHit */
/** @typedef {import("../../index.js").SearchOptions} SearchOptions */
/** @typedef {import("../../index.js").SessionTreeNode} SessionTreeNode */
/** @typedef {import("../../index.js").OutlineNode} OutlineNode */
/** @typedef {import("../../index.js").RedactInput} RedactInput */
/** @typedef {import("../../index.js").RedactReport} RedactReport */
/** @typedef {import("../../index.js").RepairReport} RepairReport */
/** @typedef {import("../../index.js").VerifyReport} VerifyReport */
/** @typedef {import("../../index.js").UsageGrouping} UsageGrouping */
/** @typedef {import("../../index.js").UsageReport} UsageReport */
/** @typedef {import("../../index.js").UsageRow} UsageRow */
/** @typedef {import("../../index.js").UsageSum} UsageSum */
/** @typedef {import("../../index.js").SessionManager} Manager */
