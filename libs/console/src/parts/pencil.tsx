/** The icon of a button that begins to edit. Give the button an `aria-label`. */
export const Pencil = () => (
  <svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" aria-hidden="true">
    <path d="M10.5 3 13 5.5 5.5 13l-3 .5.5-3z" stroke-width="1.4" stroke-linejoin="round" />
  </svg>
)
