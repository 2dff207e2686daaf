// Installs into .cache/install and then renames the result into place, so that neither a failure nor a kill
// destroys a working installation. The content of .cache/install shows the state:
//
//   nothing         node_modules is the latest installation.
//   new             npm installs into `new`, and node_modules is untouched. After a kill, the next command
//                   that prepares the clone removes `new`.
//   new, complete   The folders in `new` move into place, and the replaced folders move to `old`. After a
//                   kill, the next command finishes the moves. `complete` is removed once `old` is gone.
//
// tools/embedded/src/extended/install.spec.ts kills the command in each state.
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { at, fail, readJson, root, runNpm, say } from './common.mjs'
import { runInstallScripts } from './install-scripts.mjs'

const PROGRESS_MS = 5000
const BESIDE = at('.cache/install')
const NEW = join(BESIDE, 'new')
const OLD = join(BESIDE, 'old')
const COMPLETE = join(BESIDE, 'complete')

/** Whether another command is replacing node_modules or was interrupted while replacing it. */
export function isReplacing() {
  return existsSync(COMPLETE)
}

/**
 * Finishes an interrupted replacement of node_modules, and removes the files of an interrupted installation.
 */
export async function repairInstallation(lock) {
  if (isReplacing()) await replaceNodeModules(lock)
  removeLeftovers()
}

/**
 * Installs the packages of package-lock.json with `npm ci` and `npmOptions`. Returns npm's status and output.
 * If the status is not 0, node_modules is unchanged. With `isQuiet`, npm's output is not shown.
 */
export async function installBeside({ npmOptions, isQuiet, lock }) {
  copyManifests()
  const result = await runNpmCi(NEW, { npmOptions, isQuiet, lock })
  if (result.status !== 0) {
    removeLeftovers()
    return result
  }
  for (const folder of listFolders(NEW)) {
    // Creates an empty folder for a workspace that no longer needs packages, so that the empty folder
    // replaces the old node_modules of the workspace.
    if (existsSync(at(folder, 'node_modules')))
      mkdirSync(join(NEW, folder, 'node_modules'), { recursive: true })
  }
  writeFileSync(COMPLETE, '')
  await replaceNodeModules(lock)
  return result
}

/** Copies what npm reads: settings, the lock file, and each package.json of the root and the workspaces. */
function copyManifests() {
  const manifests = listFolders(root).map((folder) => join(folder, 'package.json'))
  for (const path of ['.npmrc', 'package-lock.json', ...manifests]) {
    if (!existsSync(at(path))) continue
    mkdirSync(dirname(join(NEW, path)), { recursive: true })
    copyFileSync(at(path), join(NEW, path))
  }
}

/** Returns the folders that can have a node_modules: the root ('') and the workspaces. */
function listFolders(project) {
  const { packages } = readJson(join(project, 'package-lock.json'))
  return Object.keys(packages).filter((path) => !path.includes('node_modules/'))
}

/** Runs `npm ci` and then the allowed install scripts in a folder, and reports the progress. */
async function runNpmCi(folder, { npmOptions, isQuiet, lock }) {
  const packages = listPackages()
  const startedAt = performance.now()
  const timer = setInterval(() => {
    const unpacked = packages.filter((path) => existsSync(join(folder, path, 'package.json'))).length
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    say(
      `installing dependencies: ${unpacked} of about ${packages.length} packages unpacked after ${seconds} s`,
    )
  }, PROGRESS_MS)
  // Includes the development dependencies, which the build needs, whatever NODE_ENV or the user's npm
  // settings say.
  const npmArgs = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error']
  const onLine = isQuiet ? () => {} : undefined
  const result = await runNpm([...npmArgs, ...npmOptions], { cwd: folder, onLine, lock })
  clearInterval(timer)
  return result.status === 0 ? runInstallScripts(folder, { onLine, lock }) : result
}

/** Returns the paths of the lock file's packages, except those for other systems. */
function listPackages() {
  const fits = (allowed, own) => !allowed || allowed.includes(own)
  const { packages } = readJson(at('package-lock.json'))
  return Object.entries(packages)
    .filter(([, { os, cpu }]) => fits(os, process.platform) && fits(cpu, process.arch))
    .map(([path]) => path)
    .filter((path) => path.includes('node_modules/'))
}

/**
 * Renames each folder in `new` into place. If a call is interrupted, the next call finishes its work. npm's
 * links to workspaces and programs are relative, so after the rename the links lead to the workspaces of this
 * clone.
 */
async function replaceNodeModules(lock) {
  try {
    for (const folder of listFolders(NEW)) replaceFolder(join(folder, 'node_modules'))
  } catch (error) {
    // The rename fails if node_modules is a mount point or is on another file system. By now npm's cache has
    // all packages, so this second installation downloads nothing.
    say(`installing in place, because ${error.message}`)
    const result = await runNpmCi(root, { npmOptions: ['--prefer-offline'], isQuiet: false, lock })
    if (result.status !== 0) fail('leadwire: the installation failed; the output of npm is above.')
  }
  removeLeftovers()
}

function replaceFolder(path) {
  if (!existsSync(join(NEW, path))) return
  if (existsSync(at(path))) {
    rmSync(join(OLD, path), { recursive: true, force: true })
    mkdirSync(dirname(join(OLD, path)), { recursive: true })
    renameSync(at(path), join(OLD, path))
  }
  renameSync(join(NEW, path), at(path))
}

/**
 * Removes `complete` after `old`: if a kill leaves a part of `old`, the next command still finds `complete`
 * and removes the rest. Removes `complete` before `new`, so that no command takes a partly removed `new` for
 * a complete installation.
 */
function removeLeftovers() {
  for (const path of [OLD, COMPLETE, BESIDE]) {
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: 3 })
    } catch (error) {
      // Removing fails if another user owns an old package, for example. The new installation works
      // nevertheless.
      say(`cannot remove ${path}: ${error.message}`)
    }
  }
}
