import { useState } from 'preact/hooks'

export const CopyButton = ({ text, label = 'Copy' }: { text: string; label?: string }) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  // Shows no button without a clipboard. Browsers provide a clipboard only to pages from https or localhost.
  if (!navigator.clipboard) return null
  return (
    <button type="button" class="quiet" onClick={copy} aria-live="polite">
      {isCopied ? 'Copied' : label}
    </button>
  )
}
