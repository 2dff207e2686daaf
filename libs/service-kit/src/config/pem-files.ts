import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** Reads and parses a file. Throws a TypeError for what can't be read or parsed. */
const readPem = <T>(path: string, kind: string, parse: (pem: string) => T): { pem: string; parsed: T } => {
  let pem: string
  try {
    pem = readFileSync(path, 'utf8')
  } catch (error) {
    throw new TypeError(`${path} can't be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  try {
    return { pem, parsed: parse(pem) }
  } catch {
    throw new TypeError(`${path} holds no ${kind} in PEM`)
  }
}

const whyNotValid = ({ validFrom, validTo }: X509Certificate): string | undefined => {
  if (Date.now() > Date.parse(validTo)) return `expired on ${new Date(validTo).toISOString()}`
  if (Date.now() < Date.parse(validFrom)) return `is not valid before ${new Date(validFrom).toISOString()}`
  return undefined
}

/** Reads a certificate and its chain. Throws a TypeError unless it is valid today. */
export const readCertificate = (path: string): { pem: string; certificate: X509Certificate } => {
  const { pem, parsed: certificate } = readPem(path, 'certificate', (text) => new X509Certificate(text))
  const why = whyNotValid(certificate)
  if (why) throw new TypeError(`the certificate in ${path} ${why}`)
  return { pem, certificate }
}

/** Reads the private key of a certificate, without a passphrase. Throws a TypeError for any other. */
export const readKey = (path: string, certificate: X509Certificate): string => {
  const { pem, parsed: key } = readPem(path, 'private key without a passphrase', createPrivateKey)
  if (!certificate.checkPrivateKey(key))
    throw new TypeError(`the key in ${path} is not that of the certificate`)
  return pem
}

/** Reads certificates of authorities. Throws a TypeError unless one of them is valid today. */
export const readAuthorities = (path: string): string => {
  const { pem, parsed: certificates } = readPem(path, 'certificate', (text) =>
    text.match(CERTIFICATE)!.map((one) => new X509Certificate(one)),
  )
  const whys = certificates.map(whyNotValid)
  if (whys.every((why) => why !== undefined)) throw new TypeError(`the certificate in ${path} ${whys[0]}`)
  return pem
}
