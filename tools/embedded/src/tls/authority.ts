import { webcrypto } from 'node:crypto'

/** A certificate and its key in PEM. */
export type Issued = { cert: string; key: string }

/** A certificate authority. It exists only in this process, because its key is not stored. */
export type Authority = {
  /** The certificate of the authority in PEM. */
  cert: string
  /** Issues a certificate with its key, for servers and clients at this machine's loopback addresses. */
  issue(name: string, flaws?: Flaws): Promise<Issued>
}

/** Deliberate errors of a certificate, for specs. */
export type Flaws = {
  host?: string
  until?: Date
  isSelfSigned?: boolean
  /**
   * Whether an intermediate authority signs the certificate. The root authority allows no intermediate one.
   */
  isIndirect?: boolean
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const HOUR_MS = 3_600_000
const VALID_MS = 365 * 24 * HOUR_MS

/** Creates an authority for development. */
export async function createAuthority(name = 'Leadwire, for development'): Promise<Authority> {
  // Loads these libraries here instead of with the module, because there they would slow down every start and
  // every spec.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const makeValidity = (until = new Date(Date.now() + VALID_MS)) => ({
    // Starts an hour ago, so that clients with a slow clock accept the certificate.
    notBefore: new Date(Math.min(Date.now(), until.getTime()) - HOUR_MS),
    notAfter: until,
    signingAlgorithm: ALGORITHM,
  })
  const keys = await newKeys()
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    ...makeValidity(),
    name: `CN=${name.replaceAll(',', '\\,')}`,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })

  const createIntermediate = async () => {
    const { publicKey, privateKey } = await newKeys()
    const certificate = await x509.X509CertificateGenerator.create({
      ...makeValidity(),
      subject: 'CN=Intermediate',
      issuer: own.subject,
      publicKey,
      signingKey: keys.privateKey,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
        await x509.SubjectKeyIdentifierExtension.create(publicKey),
      ],
    })
    return { certificate, publicKey, privateKey }
  }

  const issue = async (
    subject: string,
    { host, until, isSelfSigned, isIndirect }: Flaws = {},
  ): Promise<Issued> => {
    const { publicKey, privateKey } = await newKeys()
    const intermediate = isIndirect ? await createIntermediate() : undefined
    const issuer = intermediate ?? { certificate: own, ...keys }
    const certificate = await x509.X509CertificateGenerator.create({
      ...makeValidity(until),
      subject: `CN=${subject}`,
      issuer: isSelfSigned ? `CN=${subject}` : issuer.certificate.subject,
      publicKey,
      signingKey: isSelfSigned ? privateKey : issuer.privateKey,
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
        await x509.AuthorityKeyIdentifierExtension.create(isSelfSigned ? publicKey : issuer.publicKey),
      ],
    })
    const key = await webcrypto.subtle.exportKey('pkcs8', privateKey)
    return {
      cert: [certificate, intermediate?.certificate]
        .map((each) => (each ? `${each.toString('pem')}\n` : ''))
        .join(''),
      key: `${x509.PemConverter.encode(key, 'PRIVATE KEY')}\n`,
    }
  }
  return { cert: `${own.toString('pem')}\n`, issue }
}
