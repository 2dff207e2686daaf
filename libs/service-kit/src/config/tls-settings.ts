import { makeValidator, type Spec } from './config'
import { readAuthorities, readCertificate, readKey } from './pem-files'

/** The files of mutual TLS between services: all of the first three, or none. */
export interface TlsConfig {
  TLS_CERT_FILE: string | undefined
  TLS_KEY_FILE: string | undefined
  TLS_CA_FILE: string | undefined
  TLS_SERVER_NAME: string | undefined
}

const OPTIONAL = { default: undefined }

const FILES = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CA_FILE'] as const

export const hasTls = (env: NodeJS.ProcessEnv): boolean => FILES.some((name) => env[name])

/** A setting for which `read` does not throw. */
const checked = (read: (path: string) => unknown, spec: { desc: string } | typeof OPTIONAL) =>
  makeValidator<string | undefined>((path) => {
    read(path)
    return path
  })(spec as { desc: string }) as Spec<string | undefined>

/**
 * The settings of mutual TLS between services: this service's certificate and key, as server and as client, and the authorities of
 * its peers. If one is set, all are needed.
 */
export const tlsSettings = (env: NodeJS.ProcessEnv) => {
  const isWanted = hasTls(env) || Boolean(env['TLS_SERVER_NAME'])
  const spec = isWanted ? { desc: `TLS between services needs ${FILES.join(', ')}` } : OPTIONAL
  const ofCertificate = (path: string) => {
    // An invalid certificate is the error of its own setting.
    const certificate = tryTo(() => readCertificate(env['TLS_CERT_FILE'] ?? '').certificate)
    if (certificate) readKey(path, certificate)
  }
  return {
    TLS_CERT_FILE: checked(readCertificate, spec),
    TLS_KEY_FILE: checked(ofCertificate, spec),
    TLS_CA_FILE: checked(readAuthorities, spec),
    TLS_SERVER_NAME: checked(() => undefined, OPTIONAL),
  }
}

/**
 * The setting of a file with the authorities of one server; Node's own without it. It is an error where that server is used
 * without TLS, because it would have no effect.
 */
export const caFile = ({ isUsed, unless }: { isUsed: boolean; unless: string }) =>
  checked((path) => {
    if (!isUsed) throw new TypeError(`is of no use ${unless}`)
    readAuthorities(path)
  }, OPTIONAL)

/** PostgreSQL's own names of these files, in the query of DATABASE_URL. */
const checkDatabaseFiles = (query: URLSearchParams): void => {
  const [mode, ca, cert, key] = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'].map((name) => query.get(name))
  if (!ca && !cert && !key) return
  if (mode === 'disable') throw new TypeError('sslmode=disable makes no use of certificates')
  if (Boolean(cert) !== Boolean(key)) throw new TypeError('sslcert and sslkey need each other')
  if (ca) readAuthorities(ca)
  if (cert && key) readKey(key, readCertificate(cert).certificate)
}

/** The setting of a database: `postgresql://user:password@host:5432/name`. No error shows the password. */
export const databaseUrl = makeValidator<string>((text) => {
  if (URL.canParse(text)) checkDatabaseFiles(new URL(text).searchParams)
  return text
})

const tryTo = <T>(work: () => T): T | undefined => {
  try {
    return work()
  } catch {
    return undefined
  }
}
