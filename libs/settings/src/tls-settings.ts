import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { makeValidator, type Spec, whenValid } from './config'

// The functions named `read…` throw a TypeError if a file can't be read, or if its certificate is not valid
// today.

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

const readPem = <T>(path: string, kind: string, parse: (pem: string) => T): { pem: string; parsed: T } => {
  let pem: string
  try {
    pem = readFileSync(path, 'utf8')
  } catch (error) {
    throw new TypeError(`${path} can't be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  const parsed = whenValid(() => parse(pem))
  if (parsed === undefined) throw new TypeError(`${path} holds no ${kind} in PEM`)
  return { pem, parsed }
}

/** Returns why a certificate is not valid today, or undefined if it is valid. */
const explainInvalid = ({ validFrom, validTo }: X509Certificate): string | undefined => {
  if (Date.now() > Date.parse(validTo)) return `expired on ${new Date(validTo).toISOString()}`
  if (Date.now() < Date.parse(validFrom)) return `is not valid before ${new Date(validFrom).toISOString()}`
  return undefined
}

export const readCertificate = (path: string): { pem: string; certificate: X509Certificate } => {
  const { pem, parsed: certificate } = readPem(path, 'certificate', (text) => new X509Certificate(text))
  const why = explainInvalid(certificate)
  if (why) throw new TypeError(`the certificate in ${path} ${why}`)
  return { pem, certificate }
}

export const readKey = (path: string, certificate: X509Certificate): string => {
  const { pem, parsed: key } = readPem(path, 'private key without a passphrase', createPrivateKey)
  if (!certificate.checkPrivateKey(key))
    throw new TypeError(`the key in ${path} does not match the certificate`)
  return pem
}

/** Returns the certificates of the authorities in PEM. At least one of them must be valid today. */
export const readAuthorities = (path: string): string => {
  const { pem, parsed: certificates } = readPem(path, 'certificate', (text) =>
    text.match(CERTIFICATE)!.map((one) => new X509Certificate(one)),
  )
  const whys = certificates.map(explainInvalid)
  if (whys.every((why) => why !== undefined)) throw new TypeError(`the certificate in ${path} ${whys[0]}`)
  return pem
}

/** The files of mutual TLS between services. Either all are set or none. */
const FILES = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CA_FILE'] as const

export type TlsConfig = Record<(typeof FILES)[number] | 'TLS_SERVER_NAME', string | undefined>

const OPTIONAL = { default: undefined }

const hasTls = (env: NodeJS.ProcessEnv): boolean => FILES.some((name) => env[name])

const checked = (read: (path: string) => unknown, spec: { desc: string } | typeof OPTIONAL) =>
  makeValidator<string | undefined>((path) => {
    read(path)
    return path
  })(spec as { desc: string }) as Spec<string | undefined>

/**
 * Returns validators of the certificate and key that this service uses as server and as client, and of the
 * authorities of its peers. If one of these files or TLS_SERVER_NAME is set, all three files are required.
 */
export const tlsSettings = (env: NodeJS.ProcessEnv) => {
  const isWanted = hasTls(env) || Boolean(env['TLS_SERVER_NAME'])
  const spec = isWanted ? { desc: `TLS between services needs ${FILES.join(', ')}` } : OPTIONAL
  const readOurKey = (path: string) => {
    const certificate = whenValid(() => readCertificate(env['TLS_CERT_FILE'] ?? '').certificate)
    if (certificate) readKey(path, certificate)
  }
  return {
    TLS_CERT_FILE: checked(readCertificate, spec),
    TLS_KEY_FILE: checked(readOurKey, spec),
    TLS_CA_FILE: checked(readAuthorities, spec),
    TLS_SERVER_NAME: checked(() => undefined, OPTIONAL),
  }
}

/**
 * Returns a validator of a file with the certificates of the authorities that may sign the certificate of one
 * server. Default: Node's own authorities. Setting the file is an error if this server is used without TLS.
 */
export const caFile = ({ isUsed, unless }: { isUsed: boolean; unless: string }) =>
  checked((path) => {
    if (!isUsed) throw new TypeError(`has no effect ${unless}`)
    readAuthorities(path)
  }, OPTIONAL)

// The modes of PostgreSQL, and `no-verify` of its client for Node.
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** Checks the query of DATABASE_URL, which names certificate files in PostgreSQL's own parameters. */
const checkDatabaseQuery = (query: URLSearchParams): void => {
  const [mode, ca, cert, key] = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'].map((name) => query.get(name))
  if (mode && !SSL_MODES.includes(mode)) throw new TypeError(`sslmode must be one of ${SSL_MODES.join(', ')}`)
  if (!/^(true|false)$/.test(query.get('pgbouncer') ?? 'false'))
    throw new TypeError('pgbouncer must be true or false')
  if (!ca && !cert && !key) return
  if (mode === 'disable') {
    throw new TypeError(
      'sslmode=disable ignores certificates: remove either sslmode=disable or the certificate parameters',
    )
  }
  if (Boolean(cert) !== Boolean(key)) throw new TypeError('sslcert and sslkey must be set together')
  if (ca) readAuthorities(ca)
  if (cert && key) readKey(key, readCertificate(cert).certificate)
}

/** The URL of a database: `postgresql://user:password@host:5432/name`. Errors never show the password. */
export const databaseUrl = makeValidator<string>((text) => {
  // A URL without a host is valid: its query then names the folder of a socket.
  const withHost = text.replace('@/', '@localhost/')
  const url = URL.canParse(withHost) ? new URL(withHost) : undefined
  if (!url || !/^postgres(ql)?:\/\//.test(text) || url.port === '0')
    throw new TypeError('is not a postgresql://user:password@host:5432/name URL')
  if (whenValid(() => decodeURIComponent(`${url.username}${url.password}`)) === undefined)
    throw new TypeError('has a user or password that is not percent-encoded: write % as %25')
  checkDatabaseQuery(url.searchParams)
  return text
})

const isOrigin = (text: string, protocol: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === protocol && url.href === `${url.origin}/`
}

/**
 * Returns a validator of the base URLs of a service's copies, separated by commas. The URLs must have https
 * if the TLS_* settings are set, otherwise http.
 */
export const httpUrls = (env: NodeJS.ProcessEnv) =>
  makeValidator<URL[]>((text) => {
    const withTls = hasTls(env)
    const protocol = withTls ? 'https:' : 'http:'
    const urls = text.split(',').map((url) => url.trim())
    const invalid = urls.filter((url) => !isOrigin(url, protocol))
    const reason = withTls ? ' (https because TLS_* is set)' : ''
    if (invalid.length > 0)
      throw new TypeError(
        `not an address such as ${protocol}//files-service:4000${reason}: ${invalid.join(', ')}`,
      )
    return urls.map((url) => new URL(url))
  })()
