// Checks the .proto files: their style, and that messages of the last release can still be read. The last release is the
// newest tag v*. A clone without tags, or a folder without git, has nothing to compare with.
import { spawnSync } from 'node:child_process'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const contracts = 'libs/contracts'

const buf = (...args) => {
  const program = join(root, 'node_modules/@bufbuild/buf/bin/buf')
  return spawnSync(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' }).status === 0
}

const listTags = ['tag', '--list', 'v*', '--sort=-version:refname']
const [release] = (spawnSync('git', listTags, { cwd: root, encoding: 'utf8' }).stdout ?? '').split('\n')

if (!release) console.log('The .proto files were compared with no release: there is no tag v* here.')
const isLinted = buf('lint', contracts)
const isCompatible =
  !release || buf('breaking', contracts, '--against', `.git#tag=${release},subdir=${contracts}`)
process.exit(isLinted && isCompatible ? 0 : 1)
