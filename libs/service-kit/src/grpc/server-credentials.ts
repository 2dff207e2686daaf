import { ServerCredentials } from '@grpc/grpc-js'
import type { Tls } from '../runtime/tls'

/**
 * Certificates that are replaced while the server runs, for connections that come afterwards. Those of `createSsl` stay as they
 * were, and the certificate providers of grpc-js are experimental; both extend this class as it is done here.
 */
class ReplaceableCredentials extends ServerCredentials {
  constructor(tls: Tls) {
    super({ requestCert: true, rejectUnauthorized: true }, tls.current())
    tls.onChange((certificates) => this.updateSecureContextOptions(certificates))
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other
  }
}

/** Mutual TLS where there are certificates, else plain text. */
export const serverCredentials = (tls: Tls | undefined): ServerCredentials =>
  tls ? new ReplaceableCredentials(tls) : ServerCredentials.createInsecure()
