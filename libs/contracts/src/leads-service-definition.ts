import { type Encoder, encodeMessage } from './encode-message'
import {
  CreateLeadsResponse,
  LeadsServiceDefinition as Generated,
  GetLeadsResponse,
  ListLeadsResponse,
} from './generated/leadwire/leads/v1/leads_service'

/** As an ArrayBuffer, because nice-grpc takes every message through `Buffer.from`, which copies anything else. */
const encodedOnce = <Type extends Encoder<never>>(generated: Type): Type => ({
  ...generated,
  encode: (message: never) => ({ finish: () => encodeMessage(generated, message).buffer }),
})

const { getLeads, listLeads, createLeads } = Generated.methods

/** LeadsService with the answers of whole batches encoded without needless copies. */
export const LeadsServiceDefinition = {
  ...Generated,
  methods: {
    ...Generated.methods,
    getLeads: { ...getLeads, responseType: encodedOnce(GetLeadsResponse) as typeof GetLeadsResponse },
    listLeads: { ...listLeads, responseType: encodedOnce(ListLeadsResponse) as typeof ListLeadsResponse },
    createLeads: {
      ...createLeads,
      responseType: encodedOnce(CreateLeadsResponse) as typeof CreateLeadsResponse,
    },
  },
} as const

export type LeadsServiceDefinition = typeof LeadsServiceDefinition
