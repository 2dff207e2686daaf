import { LRUCache } from 'lru-cache'

/** A finished response, with the version of the rows that it was made from. */
interface KeptLead {
  version: string
  body: Buffer
}

interface Asked {
  accountId: number
  reference: string
}

export interface KeptLeads {
  get(lead: Asked): KeptLead | undefined
  set(lead: Asked, read: { version: string; body: string }): void
}

const KEPT_BYTES = 32 * 1024 * 1024
const BYTES_AROUND_A_BODY = 500

const keyOf = ({ accountId, reference }: Asked) => `${accountId} ${reference}`

/** The responses read last. Whoever uses one has asked PostgreSQL whether it is still of its version. */
export const keepLeads = (): KeptLeads => {
  const leads = new LRUCache<string, KeptLead>({
    maxSize: KEPT_BYTES,
    maxEntrySize: KEPT_BYTES / 32,
    sizeCalculation: ({ body }) => body.length + BYTES_AROUND_A_BODY,
  })
  return {
    get: (lead) => leads.get(keyOf(lead)),
    set: (lead, { version, body }) => {
      // Memory of its own: a part of Node's pool would keep the rest of it.
      const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(body))
      bytes.write(body)
      leads.set(keyOf(lead), { version, body: bytes })
    },
  }
}
