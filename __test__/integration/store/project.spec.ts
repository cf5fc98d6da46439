// What a session is a part of.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { emptyDirectory, library } from "../../support/lines.js";

const { normalizeRemote, projectOf } = createRequire(library)("./project.js");

test.each([
	["git@github.com:me/shop.git", "github.com/me/shop"],
	["https://github.com/me/shop", "github.com/me/shop"],
	["https://me:token@GitHub.com/Me/Shop.git/", "github.com/me/shop"],
	["ssh://git@github.com:22/me/shop.git", "github.com/me/shop"],
	["git+ssh://git@github.com/me/shop", "github.com/me/shop"],
	["git://git.example.org:9418//group/sub/shop.git", "git.example.org/group/sub/shop"],
	["example.org:shop", "example.org/shop"],
	["example.org:~me/shop.git\n", "example.org/~me/shop"],
	["https://example.org/", undefined],
	["https://example.org/.git", undefined],
	["/srv/git/shop.git", undefined],
	["../shop", undefined],
	["./a:b", undefined],
	["C:\\git\\shop", undefined],
	["C:/git/shop", undefined],
	["file:///srv/git/shop.git", undefined],
	["", undefined],
])("the remote %j is %j", (remote, name) => {
	expect(normalizeRemote(remote)).toBe(name);
});

test("a directory is part of its remote, at its place below the repository's root; without a remote it is its name", () => {
	const dir = emptyDirectory();
	const git = (...args: string[]) => execFileSync("git", ["-C", join(dir, "work"), ...args], { stdio: "pipe" });
	mkdirSync(join(dir, "work/packages/cart"), { recursive: true });
	// Whatever lies around the temporary folder is none of its business.
	vi.stubEnv("GIT_CEILING_DIRECTORIES", dir);
	onTestFinished(() => {
		vi.unstubAllEnvs();
	});
	expect(projectOf(join(dir, "work"))).toBe("work");
	git("init", "-q");
	expect(projectOf(join(dir, "work/packages"))).toBe("packages");
	git("remote", "add", "upstream", "https://example.org/them/shop.git");
	expect(projectOf(join(dir, "work"))).toBe("example.org/them/shop");
	git("remote", "add", "fork", "https://example.org/another/shop.git");
	expect(projectOf(join(dir, "work"))).toBe("work");
	git("remote", "add", "origin", "short:me/shop.git");
	git("config", "url.git@example.org:.insteadOf", "short:");
	expect(projectOf(join(dir, "work"))).toBe("example.org/me/shop");
	expect(projectOf(join(dir, "work/packages/cart"))).toBe("example.org/me/shop:packages/cart");
	vi.stubEnv("GIT_DIR", "/nowhere");
	expect(projectOf(join(dir, "work"))).toBe("example.org/me/shop");
	vi.stubEnv("GIT_DIR", undefined);
	git("remote", "set-url", "origin", "/srv/shop.git");
	expect(projectOf(join(dir, "work"))).toBe("work");
	expect(projectOf(join(dir, "gone"))).toBe("gone");
	vi.stubEnv("PATH", "");
	expect(projectOf(join(dir, "work"))).toBe("work");
});
