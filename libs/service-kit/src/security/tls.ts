import { unwatchFile, watchFile } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { readAuthorities, readCertificate, readKey, type TlsConfig } from '@leadwire/settings'
import type { ServiceContext } from '../process/lifecycle'

const POLL_MS = 1000

type Watcher = Pick<ServiceContext<unknown>, 'lifecycle' | 'logger'>

/** Keeps the value while `read` throws: a certificate and its key are never replaced in the same instant. */
const watchFiles = <T>(files: string[], read: () => T, { lifecycle, logger }: Watcher) => {
  let value = read()
  const listeners: ((value: T) => void)[] = []
  const readAgain = () => {
    try {
      const next = read()
      // Each replaced file calls this.
      if (isDeepStrictEqual(next, value)) return
      value = next
    } catch (error) {
      return logger.warn({ files, reason: (error as Error).message }, 'certificates are not replaced')
    }
    for (const listener of listeners) listener(value)
    logger.info({ files }, 'certificates were replaced')
  }
  // By polling: Kubernetes replaces the folder that a mounted file is linked to, without an event.
  for (const file of files) watchFile(file, { interval: POLL_MS, persistent: false }, readAgain)
  lifecycle.onStop('certificates', () => {
    for (const file of files) unwatchFile(file, readAgain)
  })
  return {
    current: (): T => value,
    onChange: (listener: (value: T) => void): void => void listeners.push(listener),
  }
}

export type Watched<T> = ReturnType<typeof watchFiles<T>>

/** This service's certificate, and the authorities of its peers; PEM. */
export type Tls = Watched<{
  cert: string
  key: string
  ca: string
  /** The name to check servers' certificates for, in place of their address. */
  servername?: string
}>

/** Undefined for plain text. */
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

/** Undefined for Node's own. */
export const watchAuthorities = (path: string | undefined, watcher: Watcher): Watched<string> | undefined =>
  path === undefined ? undefined : watchFiles([path], () => readAuthorities(path), watcher)
