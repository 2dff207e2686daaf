import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { at, fail, readJson, root, say, tryTo } from './common.mjs'
import { installBeside, isReplacing, repairInstallation } from './install-beside.mjs'
import { runInstallScripts } from './install-scripts.mjs'
import { findErrorCode, findRegistryProblem } from './registry.mjs'

/**
 * This file records what node_modules was installed for: the platform, the version of Node, and the hash of
 * the lock file.
 */
const STAMP = at('node_modules/.leadwire-installed')

/** Whether node_modules was installed for this lock file, this platform and this version of Node. */
export function isInstalled() {
  const stamp = readStamp()
  return (
    !isReplacing() &&
    stamp?.platform === ownPlatform() &&
    isSameAbi(stamp.node) &&
    stamp.lockFile === hashLockFile()
  )
}

/**
 * Installs the packages of package-lock.json if node_modules does not have them. If npm fails, keeps an
 * existing installation that can still run the programs. Exits if there is no such installation.
 */
export async function install(lock) {
  await repairInstallation(lock)
  if (isInstalled()) return
  const cause = findCause()
  if (cause) {
    say(`installing dependencies: ${cause.text}`)
    const problem = await tryInstallation(lock)
    if (problem && cause.canRun)
      return say(`${cause.text}; ${problem}. This run uses the existing installation.`)
    if (problem) {
      fail(
        `leadwire: cannot install dependencies: ${cause.text}; ${problem}. Run the command again when npm ` +
          'can install from its registry ("npm config get registry" prints the address).',
      )
    }
  } else {
    // node_modules has the right packages but no valid stamp: the user ran `npm ci`, which runs no install
    // scripts. Therefore runs these scripts now.
    const { status } = await runInstallScripts(root, { lock })
    if (status !== 0) fail('leadwire: an install script failed; the output of npm is above.')
  }
  writeFileSync(STAMP, `${ownPlatform()} ${process.version} ${hashLockFile()}`)
}

/**
 * Installs from the registry, or from npm's cache if the registry cannot be used. Returns undefined on
 * success, or the reason of the failure.
 */
async function tryInstallation(lock) {
  const registryProblem = await findRegistryProblem(lock)
  if (!registryProblem) {
    const { status } = await installBeside({ npmOptions: [], isQuiet: false, lock })
    return status === 0 ? undefined : 'npm failed; its output is above'
  }
  const { status, output } = await installBeside({ npmOptions: ['--offline'], isQuiet: true, lock })
  if (status === 0) return undefined
  return `${registryProblem}; npm's cache is not enough (${findErrorCode(output)})`
}

/**
 * Returns why an installation is necessary. `canRun` says whether the existing installation can still run the
 * programs. Returns undefined if node_modules has the packages of package-lock.json, whichever program
 * installed them.
 */
function findCause() {
  if (!existsSync(at('node_modules'))) return { text: 'there is no node_modules', canRun: false }
  const present = tryTo(() => readJson(at('node_modules/.package-lock.json')).packages)
  if (!present) return { text: 'an earlier installation did not finish', canRun: false }
  const wrong = findWrongPackage(present)
  if (wrong) return { text: `${wrong} does not match package-lock.json`, canRun: false }
  const stamp = readStamp()
  if (stamp && stamp.platform !== ownPlatform()) {
    return { text: `node_modules was installed for another machine (${stamp.platform})`, canRun: false }
  }
  if (stamp && !isSameAbi(stamp.node)) {
    const text = `node_modules was installed for another Node (${stamp.node}, this is ${process.version})`
    return { text, canRun: true }
  }
  return undefined
}

/** Returns the name of a package that is missing, or whose version differs from package-lock.json. */
function findWrongPackage(present) {
  const locked = readJson(at('package-lock.json')).packages
  for (const [path, { version, link, optional, peer, inBundle }] of Object.entries(locked)) {
    if (!path.includes('node_modules/')) continue
    const found = present[path]
    const isRight = found
      ? found.version === version && found.link === link && existsSync(at(path, 'package.json'))
      : optional || peer || inBundle
    if (!isRight) return path.replace(/^.*node_modules\//, '')
  }
  return undefined
}

function readStamp() {
  const [platform, node, lockFile] = tryTo(() => readFileSync(STAMP, 'utf8'))?.split(' ') ?? []
  return lockFile && { platform, node, lockFile }
}

function ownPlatform() {
  return `${process.platform}-${process.arch}`
}

/**
 * Returns whether this process has the same ABI (process.versions.modules) as a version of Node. Native
 * modules are built for one ABI. Only a new major version of Node changes the ABI, so a new minor or patch
 * version needs no installation.
 */
function isSameAbi(version) {
  return version.split('.')[0] === process.version.split('.')[0]
}

function hashLockFile() {
  return createHash('sha256')
    .update(readFileSync(at('package-lock.json')))
    .digest('hex')
}
