// Checks the .proto files: their style, and that the previous release and this one understand each other. A clone whose history
// does not reach back to that release, or a folder without git, has nothing to compare with.
import { spawnSync } from 'node:child_process'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { previousRelease } from './previous-release.cjs'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const contracts = 'libs/contracts'

const buf = (...args) => {
  const program = join(root, 'node_modules/@bufbuild/buf/bin/buf')
  return spawnSync(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' }).status === 0
}

const { version, commit } = previousRelease(root)
const isThere =
  commit !== null && spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root }).status === 0

if (commit === null) console.log('The .proto files were compared with none: there is no previous release.')
else if (!isThere)
  console.log(
    `The .proto files were not compared with those of ${version}: its commit is not in the history here.`,
  )
const isLinted = buf('lint', contracts)
const against = `.git#ref=${commit},subdir=${contracts}`
const isCompatible = !isThere || buf('breaking', contracts, '--against', against)
process.exit(isLinted && isCompatible ? 0 : 1)
