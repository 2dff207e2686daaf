import { api, readData } from '../api'
import { EraseLead, Receipt } from '../lead/erase-lead'
import { LeadDuplicates } from '../lead/lead-duplicates'
import { LeadFields } from '../lead/lead-fields'
import { LeadQuotes } from '../lead/lead-quotes'
import { LeadSource } from '../lead/lead-source'
import { LeadTitle } from '../lead/lead-title'
import { NextAction } from '../lead/next-action'
import { ReadOnly } from '../lead/read-only'
import { TechnicalDetails } from '../lead/technical-details'
import { Timeline } from '../lead/timeline'
import { useLead } from '../lead/use-lead'
import { isErased } from '../leads'
import { Action } from '../parts/action'
import { Failure, Loading, type PageProps } from '../parts/page'
import { createJsonFile, saveFile } from '../parts/save-file'
import { Tabs } from '../parts/tabs'

const exportLead = (reference: string) =>
  saveFile(`lead-${reference}.json`, async () => {
    const params = { path: { reference } }
    return createJsonFile((await readData(api().GET('/manage/leads/{reference}/export', { params }))).data)
  })

/** /leads/:id, where the id is a reference: one lead with all its records. */
export const Lead = ({ id: reference, scopes }: PageProps) => {
  const { page, problem, refresh } = useLead(reference, scopes)
  if (!page) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { lead, shown } = page
  const actions = (
    <>
      {scopes.has('manage:read') && <Action label="Export" quiet run={() => exportLead(reference)} />}
      {scopes.has('manage') && !isErased(lead) && <EraseLead page={page} />}
    </>
  )
  const tabs = [
    { name: 'Timeline', content: <Timeline page={page} /> },
    { name: 'Technical details', content: <TechnicalDetails page={page} scopes={scopes} /> },
  ]
  return (
    <>
      <LeadTitle lead={lead} actions={actions} />
      {shown.erasure && <Receipt erasure={shown.erasure} endpoints={shown.endpoints} />}
      <ReadOnly page={page} />
      {!isErased(lead) && <LeadFields page={page} />}
      <div class="lead">
        <div class="next">
          <NextAction page={page} />
        </div>
        <div class="story">
          <Tabs label="Parts of the lead" tabs={tabs} />
        </div>
        <div class="about">
          <LeadSource lead={lead} />
          <LeadQuotes quotes={lead.quotes} />
          <LeadDuplicates page={page} />
        </div>
      </div>
    </>
  )
}
