// Plain JavaScript without dependencies: tools/bootstrap.mjs takes a lock before anything is installed or built.
const { spawnSync } = require('node:child_process')
const {
  closeSync,
  constants,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} = require('node:fs')
const { hostname } = require('node:os')
const { dirname } = require('node:path')
const { setTimeout: wait } = require('node:timers/promises')

const { O_CREAT, O_NONBLOCK, O_RDWR } = constants
/** open(2) of macOS takes the lock itself. Node has no name for this flag. */
const O_EXLOCK = 0x20
const POLL_MS = 200

/**
 * Takes a lock of the kernel, flock(2), on a file, which is made if need be and never removed. The lock lasts until every
 * process that has `fd` open has ended or closed it: this one, and those that `fd` was passed to. It counts in all
 * containers that share the file, where a pid means nothing.
 * @param {string} path
 * @returns {{ fd: number, release: () => void } | undefined} undefined while another process has it
 * @throws where no such lock can be had
 */
const takeLock = (path) => {
  mkdirSync(dirname(path), { recursive: true })
  const fd = process.platform === 'darwin' ? openWithLock(path) : openThenLock(path)
  if (fd === undefined) return undefined
  ftruncateSync(fd)
  writeSync(fd, `pid ${process.pid} on ${hostname()}\n`, 0)
  return { fd, release: () => closeSync(fd) }
}

/** @param {string} path */
const openWithLock = (path) => {
  try {
    return openSync(path, O_RDWR | O_CREAT | O_NONBLOCK | O_EXLOCK)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EAGAIN') return undefined
    throw error
  }
}

/** The program locks the file that is open here; when the program ends, the lock stays. @param {string} path */
const openThenLock = (path) => {
  const fd = openSync(path, O_RDWR | O_CREAT)
  const { status, stderr, error } = spawnSync('flock', ['-n', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', fd],
  })
  if (status === 0) return fd
  closeSync(fd)
  if (status === 1 && stderr.length === 0) return undefined
  throw new Error(
    `${path} can't be locked: ${error ? `${error.message} (flock is part of util-linux)` : stderr}`,
  )
}

/**
 * Waits until the lock can be taken.
 * @param {string} path
 * @param {(holder: string) => void} [onHeld] called at each poll while another process has it; ends the wait by throwing
 */
const waitForLock = async (path, onHeld = () => {}) => {
  for (;;) {
    const lock = takeLock(path)
    if (lock) return lock
    // Empty for the instant between the lock and its first write.
    onHeld(readFileSync(path, 'utf8').trim() || 'its pid is not known')
    await wait(POLL_MS)
  }
}

module.exports = { takeLock, waitForLock }
