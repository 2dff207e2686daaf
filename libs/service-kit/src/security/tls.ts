import { unwatchFile, watchFile } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { readAuthorities, readCertificate, readKey } from '../config/pem-files'
import type { TlsConfig } from '../config/tls-settings'
import type { Lifecycle } from '../process/lifecycle'
import type { Logger } from '../process/logger'

const POLL_MS = 1000

/** The content of files, replaced when they change. */
export interface Watched<T> {
  current(): T
  /** Calls `listener` with each later value. */
  onChange(listener: (value: T) => void): void
}

interface Watcher {
  lifecycle: Lifecycle
  logger: Logger
}

/**
 * Reads files with `read`, and again within a second when one changes. While `read` throws, which is logged, the content before
 * stays in use: a certificate and its key are never replaced in the same instant.
 */
const watchFiles = <T>(paths: string[], read: () => T, { lifecycle, logger }: Watcher): Watched<T> => {
  let value = read()
  const listeners: ((value: T) => void)[] = []
  const readAgain = () => {
    let next: T
    try {
      next = read()
    } catch (error) {
      logger.warn({ files: paths, reason: (error as Error).message }, 'certificates are not replaced')
      return
    }
    // Each replaced file calls this.
    if (isDeepStrictEqual(next, value)) return
    value = next
    for (const listener of listeners) listener(value)
    logger.info({ files: paths }, 'certificates were replaced')
  }
  // By polling: Kubernetes replaces the folder that a mounted file is linked to, without an event.
  for (const path of paths) watchFile(path, { interval: POLL_MS, persistent: false }, readAgain)
  lifecycle.onStop('certificates', () => {
    for (const path of paths) unwatchFile(path, readAgain)
  })
  return { current: () => value, onChange: (listener) => void listeners.push(listener) }
}

/** This service's certificate, and the authorities of its peers; PEM. */
export interface Certificates {
  cert: string
  key: string
  ca: string
  /** The name to check servers' certificates for, in place of their address. */
  servername?: string
}

export type Tls = Watched<Certificates>

/** The certificates of the settings; undefined for plain text. */
export const watchTls = (config: TlsConfig, watcher: Watcher): Tls | undefined => {
  const { TLS_CERT_FILE: cert, TLS_KEY_FILE: key, TLS_CA_FILE: ca, TLS_SERVER_NAME: servername } = config
  if (!cert || !key || !ca) return undefined
  const read = () => {
    const { pem, certificate } = readCertificate(cert)
    return {
      ...{ cert: pem, key: readKey(key, certificate), ca: readAuthorities(ca) },
      ...(servername && { servername }),
    }
  }
  return watchFiles([cert, key, ca], read, watcher)
}

/** The authorities in a file; undefined without one, for Node's own. */
export const watchAuthorities = (path: string | undefined, watcher: Watcher): Watched<string> | undefined =>
  path === undefined ? undefined : watchFiles([path], () => readAuthorities(path), watcher)
