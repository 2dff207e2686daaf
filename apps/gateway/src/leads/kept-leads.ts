import { LRUCache } from 'lru-cache'

/** A finished response, with the version of the lead that it tells of. */
interface KeptLead {
  accountId: number
  version: string
  body: Buffer
}

interface Asked {
  accountId: number
  reference: string
}

export interface KeptLeads {
  get(lead: Asked): KeptLead | undefined
  set(lead: Asked, read: { version: string; body: Uint8Array }): void
}

const KEPT_BYTES = 32 * 1024 * 1024
const BYTES_AROUND_A_BODY = 500

/** The responses read last. Whoever uses one has asked leads-service whether the lead is still of its version. */
export const keepLeads = (): KeptLeads => {
  const leads = new LRUCache<string, KeptLead>({
    maxSize: KEPT_BYTES,
    maxEntrySize: KEPT_BYTES / 32,
    sizeCalculation: ({ body }) => body.length + BYTES_AROUND_A_BODY,
  })
  return {
    get: ({ accountId, reference }) => {
      const kept = leads.get(reference)
      return kept?.accountId === accountId ? kept : undefined
    },
    set: ({ accountId, reference }, { version, body }) => {
      // Memory of its own: a part of what came with a batch would keep the rest of it.
      const bytes = Buffer.allocUnsafeSlow(body.length)
      bytes.set(body)
      leads.set(reference, { accountId, version, body: bytes })
    },
  }
}
