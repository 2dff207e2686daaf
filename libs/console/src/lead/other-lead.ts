import { useEffect, useState } from 'preact/hooks'
import { type ManagedLead, retrieveLead } from './load-lead'

/** Loads another lead. Returns undefined while the lead is loading, and if it could not be loaded. */
export const useOtherLead = (reference: string): ManagedLead | undefined => {
  const [lead, setLead] = useState<ManagedLead>()
  useEffect(() => {
    const controller = new AbortController()
    // If the request fails, the reference remains as the name.
    retrieveLead(reference, controller.signal).then(
      (state) => setLead(state.lead),
      () => undefined,
    )
    return () => controller.abort()
  }, [reference])
  return lead
}
