import { makeValidator, type Spec } from './config'
import { readAuthorities, readCertificate, readKey } from './pem-files'

/** The files of the locks between services; all of the first three, or none. */
export interface TlsConfig {
  TLS_CERT_FILE: string | undefined
  TLS_KEY_FILE: string | undefined
  TLS_CA_FILE: string | undefined
  TLS_SERVER_NAME: string | undefined
}

const OPTIONAL = { default: undefined }

const FILES = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CA_FILE'] as const

export const hasTls = (env: NodeJS.ProcessEnv): boolean => FILES.some((name) => env[name])

/** A text that `read` does not throw for, mostly the path of a file; it is the setting's value. */
const checked = (read: (path: string) => unknown, spec: { desc: string } | typeof OPTIONAL) =>
  makeValidator<string | undefined>((path) => {
    read(path)
    return path
  })(spec as { desc: string }) as Spec<string | undefined>

/**
 * The settings of mutual TLS between services, for `readConfig`: the certificate and key that this service shows, as server and
 * as client, and the authorities that its peers' certificates are checked by. Half of them is a fault of those that are missing.
 */
export const tlsSettings = (env: NodeJS.ProcessEnv) => {
  const isWanted = hasTls(env) || Boolean(env['TLS_SERVER_NAME'])
  const spec = isWanted ? { desc: `TLS between services needs ${FILES.join(', ')}` } : OPTIONAL
  const ofCertificate = (path: string) => {
    // Without a sound certificate its own setting is the one at fault.
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
 * The setting of a file with the authorities that one server's certificate is checked by; without it those that Node brings
 * count. It is a fault where that server is not asked for TLS, as `unless` tells: what is asked for then does not happen.
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

/** The setting of a database: `postgresql://user:password@host:5432/name`. No fault shows the password. */
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
