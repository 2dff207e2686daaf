import { isErased } from '../leads'
import { me } from '../session'
import type { LeadPage } from './use-lead'

const explain = ({ lead, mayEdit }: LeadPage): string | undefined => {
  if (mayEdit) return undefined
  if (isErased(lead)) return "The personal data of this lead was erased, so the lead can't be changed."
  return me.value?.type === 'user'
    ? "Your role can't change leads. An admin can change your role."
    : "This token can't change leads: it lacks the scope leads."
}

/** The reason why the page has no buttons that change the lead, if it has none. */
export const ReadOnly = ({ page }: { page: LeadPage }) => {
  const reason = explain(page)
  return reason ? <p class="faint">{reason}</p> : null
}
