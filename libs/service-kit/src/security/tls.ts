import { unwatchFile, watchFile } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { readAuthorities, readCertificate, readKey, type TlsConfig } from '@leadwire/settings'
import type { ServiceContext } from '../process/lifecycle'

const POLL_MS = 1000

type Watcher = Pick<ServiceContext<unknown>, 'lifecycle' | 'logger'>

/**
 * Reads files again when they change. Keeps the last value while `read` throws, because a certificate and
 * its key are never replaced at the same instant.
 */
const watchFiles = <T>(files: string[], read: () => T, { lifecycle, logger }: Watcher) => {
  let value = read()
  const listeners: ((value: T) => void)[] = []
  const readAgain = () => {
    try {
      const next = read()
      // `readAgain` is called for each replaced file, so the value may already be current.
      if (isDeepStrictEqual(next, value)) return
      value = next
    } catch (error) {
      const reason = (error as Error).message
      return logger.warn({ files, reason }, 'could not use the new certificates; the old ones stay in use')
    }
    for (const listener of listeners) listener(value)
    logger.info({ files }, 'certificates were replaced')
  }
  // Polls, because Kubernetes replaces a mounted file by relinking its folder, which causes no event.
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

/** The certificate and key of this service, and the authorities of its peers, all in PEM. */
export type Tls = Watched<{
  cert: string
  key: string
  ca: string
  /** The name that the certificates of servers must have, instead of the host name in their URL. */
  servername?: string
}>

/** Returns the watched certificates, or undefined if the configuration asks for plain text. */
export const watchTls = (config: TlsConfig, watcher: Watcher): Tls | undefined => {
  const { TLS_CERT_FILE: cert, TLS_KEY_FILE: key, TLS_CA_FILE: ca, TLS_SERVER_NAME: servername } = config
  if (!cert || !key || !ca) return undefined
  const read = () => {
    const { pem, certificate } = readCertificate(cert)
    return {
      cert: pem,
      key: readKey(key, certificate),
      ca: readAuthorities(ca),
      ...(servername && { servername }),
    }
  }
  return watchFiles([cert, key, ca], read, watcher)
}

/**
 * Returns the watched certificate authorities. Returns undefined if no file is set. Node's own authorities
 * then apply.
 */
export const watchAuthorities = (path: string | undefined, watcher: Watcher): Watched<string> | undefined =>
  path === undefined ? undefined : watchFiles([path], () => readAuthorities(path), watcher)
