// Shared by tools/bootstrap.mjs and the modules in this folder.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')
export const at = (...parts) => join(root, ...parts)

export function tryTo(work) {
  try {
    return work()
  } catch {
    return undefined
  }
}

export function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

export function say(line) {
  console.error(`leadwire: ${line}`)
}

export function fail(message) {
  console.error(message)
  process.exit(1)
}

/** Runs npm: the copy of npm that runs this command, or else the npm on PATH. */
export function runNpm(npmArgs, options) {
  const cli = process.env.npm_execpath
  if (cli?.endsWith('npm-cli.js')) return runCommand(process.execPath, [cli, ...npmArgs], options)
  return runCommand('npm', npmArgs, options)
}

/**
 * Runs a command to its end. Shows its output on stderr, because stdout belongs to the program alone. With
 * `onLine`, collects the output instead of showing it, and calls `onLine` with each line. Kills the command
 * after `timeoutMs`; then `status` is null.
 */
export async function runCommand(command, commandArgs, options) {
  const { lock, cwd = root, env = process.env, onLine, timeoutMs } = options
  const output = onLine ? 'pipe' : 2
  // Passes the lock on to the command. A command that outlives this process still holds the lock.
  const stdio = ['ignore', output, output, lock?.fd ?? 'ignore']
  const child = spawn(command, commandArgs, { cwd, env, stdio, timeout: timeoutMs, killSignal: 'SIGKILL' })
  let collected = ''
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    createInterface(stream).on('line', (line) => {
      collected += `${line}\n`
      onLine(line)
    })
  }
  const status = await new Promise((resolve) => {
    child.once('error', (error) => {
      collected += `${command} could not be run: ${error.message}\n`
      if (!onLine) say(`${command} could not be run: ${error.message}`)
      resolve(-1)
    })
    child.once('close', resolve)
  })
  return { status, output: collected }
}
