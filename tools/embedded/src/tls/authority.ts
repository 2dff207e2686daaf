import { webcrypto } from 'node:crypto'

/** PEM texts. */
export type Issued = { cert: string; key: string }

/** A certificate authority that lives as long as this process: its key is nowhere else. */
export type Authority = {
  /** Its certificate, PEM. */
  cert: string
  /** A certificate for this machine's loopback addresses, for servers and for clients, with its key. */
  issue(name: string, flaws?: Flaws): Promise<Issued>
}

/** What can be wrong with a certificate. */
export type Flaws = { host?: string; until?: Date; isSelfSigned?: boolean }

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const HOUR_MS = 3_600_000
const VALID_MS = 365 * 24 * HOUR_MS

/** Makes an authority for development: who trusts it trusts whatever it issued. */
export async function createAuthority(name = 'Leadwire, for development'): Promise<Authority> {
  // Loaded when they are needed: every start and every spec would else wait for them.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const terms = (until = new Date(Date.now() + VALID_MS)) => ({
    // A clock may be slow.
    notBefore: new Date(Math.min(Date.now(), until.getTime()) - HOUR_MS),
    notAfter: until,
    signingAlgorithm: ALGORITHM,
  })
  const keys = await newKeys()
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    ...terms(),
    name: `CN=${name.replaceAll(',', '\\,')}`,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })

  const issue = async (subject: string, { host, until, isSelfSigned }: Flaws = {}): Promise<Issued> => {
    const { publicKey, privateKey } = await newKeys()
    const certificate = await x509.X509CertificateGenerator.create({
      ...terms(until),
      subject: `CN=${subject}`,
      issuer: isSelfSigned ? `CN=${subject}` : own.subject,
      publicKey,
      signingKey: isSelfSigned ? privateKey : keys.privateKey,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([
          x509.ExtendedKeyUsage.serverAuth,
          x509.ExtendedKeyUsage.clientAuth,
        ]),
        new x509.SubjectAlternativeNameExtension([
          { type: 'dns', value: host ?? 'localhost' },
          ...(host === undefined
            ? ([
                { type: 'ip', value: '127.0.0.1' },
                { type: 'ip', value: '::1' },
              ] as const)
            : []),
        ]),
        await x509.AuthorityKeyIdentifierExtension.create(isSelfSigned ? publicKey : keys.publicKey),
      ],
    })
    const key = await webcrypto.subtle.exportKey('pkcs8', privateKey)
    return {
      cert: `${certificate.toString('pem')}\n`,
      key: `${x509.PemConverter.encode(key, 'PRIVATE KEY')}\n`,
    }
  }
  return { cert: `${own.toString('pem')}\n`, issue }
}
