// Checks the style of the .proto files and their compatibility with the previous release. Skips the
// comparison if the commit of that release is missing: in a shallow clone, or in a folder without git.
import { spawnSync } from 'node:child_process'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findPreviousRelease } from './previous-release.cjs'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const contracts = 'libs/contracts'

const buf = (...args) => {
  const program = join(root, 'node_modules/@bufbuild/buf/bin/buf')
  return spawnSync(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' }).status === 0
}

const { version, commit } = findPreviousRelease(root)
const isThere =
  commit !== null && spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root }).status === 0

if (commit === null) console.log('The .proto files were not compared: there is no previous release.')
else if (!isThere)
  console.log(`The .proto files were not compared with ${version}: this clone does not have its commit.`)
const isLinted = buf('lint', contracts)
const against = `.git#ref=${commit},subdir=${contracts}`
const isCompatible = !isThere || buf('breaking', contracts, '--against', against)
process.exit(isLinted && isCompatible ? 0 : 1)
