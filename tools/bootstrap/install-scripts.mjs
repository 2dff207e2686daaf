// npm runs no install scripts in this repository (see .npmrc). This module runs the install scripts of the
// packages that "allowScripts" in package.json allows.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readJson, runNpm } from './common.mjs'

/**
 * Runs the allowed install scripts in a folder. Returns npm's status and output. `options` are those of
 * `runCommand`.
 */
export async function runInstallScripts(folder, options = {}) {
  const names = listAllowedPackages(folder)
  if (names.length === 0) return { status: 0, output: '' }
  const npmArgs = ['rebuild', '--ignore-scripts=false', '--loglevel=error', ...names]
  return runNpm(npmArgs, { ...options, cwd: folder })
}

/** Returns the names of the allowed packages that are installed. npm omits packages for other platforms. */
function listAllowedPackages(folder) {
  const { allowScripts = {} } = readJson(join(folder, 'package.json'))
  const isInstalled = (name) => existsSync(join(folder, 'node_modules', name))
  return Object.keys(allowScripts).filter((name) => allowScripts[name] === true && isInstalled(name))
}
