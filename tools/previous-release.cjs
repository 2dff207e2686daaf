const { spawnSync } = require('node:child_process')
const { readFileSync } = require('node:fs')
const { join } = require('node:path')

/**
 * Finds the last release before HEAD: by its tag, or in tools/previous-release.json if the clone has no tag.
 * @param {string} root the checkout
 * @returns {{version: string, commit: string | null}} `commit` may be missing in a shallow clone
 */
exports.findPreviousRelease = (root) => {
  /** @param {string[]} args */
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim()
  // Starts at HEAD^, because the commit of a release is compared with the release before it.
  const tag = git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^')
  if (!tag) return JSON.parse(readFileSync(join(root, 'tools/previous-release.json'), 'utf8'))
  return { version: tag.slice(1), commit: git('rev-list', '-n', '1', tag) }
}
