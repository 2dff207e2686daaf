// Plain JavaScript without dependencies, because tools/bootstrap.mjs takes a lock before anything is
// installed or built.
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
/** The flag of macOS with which open(2) takes the lock. Node has no name for it. */
const O_EXLOCK = 0x20
const POLL_MS = 200

/**
 * Takes a kernel lock, flock(2), on a file. Creates the file if it does not exist, and never removes it. The
 * lock lasts until every process that has `fd` open has closed it or ended: this process, and those that
 * inherited `fd`. Unlike a pid in a file, the lock works across containers that share the file.
 * @param {string} path
 * @returns {{ fd: number, release: () => void } | undefined} undefined if another process holds the lock
 * @throws if the system has no such lock
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

/**
 * Locks the open file with the program flock. When flock ends, the lock stays, because this process still has
 * the file open.
 * @param {string} path
 */
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
 * @param {(holder: string) => void} [onHeld] called at each poll while another process holds the lock; may
 * throw to end the wait
 */
const waitForLock = async (path, onHeld = () => {}) => {
  for (;;) {
    const lock = takeLock(path)
    if (lock) return lock
    // The file is empty for an instant after another process has taken the lock.
    onHeld(readFileSync(path, 'utf8').trim() || 'unknown pid')
    await wait(POLL_MS)
  }
}

module.exports = { takeLock, waitForLock }
