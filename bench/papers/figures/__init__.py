"""All figures. To add one: a module with a FIGURE, and its line here."""

from . import (iorchestrator_fig7, iorchestrator_fig8, iorchestrator_fig9, iorchestrator_pairs,
               iorchestrator_today, lacio_fig6, lacio_fig10, lacio_ior, orthrus_fig3, orthrus_fig4,
               orthrus_fig5, orthrus_fig6, orthrus_table2, orthrus_table3, quick, resonant_fig2, resonant_fig6,
               resonant_fig7, resonant_fig8, resonant_fig9, resonant_fig10, resonant_fig11, resonant_fig12,
               view_based_fig3, view_based_fig5, view_based_fig6, view_based_table1, view_based_table2)

QUICK = quick.FIGURE

# `make papers`: some 90 minutes.
TELLING = (
    resonant_fig2.FIGURE,
    iorchestrator_pairs.WITH_BARRIERS,
    iorchestrator_fig7.FIGURE,
    iorchestrator_fig8.FIGURE,
    lacio_fig6.FIGURE,
    orthrus_fig3.FIGURE,
    view_based_fig3.FIGURE,
    view_based_fig6.FIGURE,
)

ALL = (
    *TELLING,
    resonant_fig2.WITH_CFQ,
    resonant_fig2.TODAY,
    resonant_fig6.FIGURE,
    resonant_fig7.FIGURE,
    resonant_fig8.FIGURE,
    resonant_fig9.FIGURE,
    resonant_fig10.FIGURE,
    resonant_fig11.FIGURE,
    resonant_fig12.FIGURE,
    iorchestrator_pairs.LONGER,
    iorchestrator_pairs.WITH_SHAPES,
    iorchestrator_pairs.WITH_COLLECTIVES,
    iorchestrator_pairs.WITH_NEITHER,
    iorchestrator_fig8.TODAY,
    iorchestrator_fig9.FIGURE,
    iorchestrator_fig9.LONGER,
    iorchestrator_today.SCHEDULERS,
    iorchestrator_today.GATES,
    iorchestrator_today.NO_SEEKS,
    lacio_fig6.TODAY,
    lacio_ior.RANDOM,
    lacio_ior.INTERLEAVED,
    lacio_ior.INTERLEAVED_EIGHTH,
    lacio_fig10.FIGURE,
    orthrus_fig3.WITH_LARGE_BLOCKS,
    orthrus_fig3.ON_A_CLUSTER,
    orthrus_fig3.TODAY,
    orthrus_fig4.FIGURE,
    orthrus_fig5.FIGURE,
    orthrus_fig5.WRITES,
    orthrus_fig6.FIGURE,
    orthrus_table2.FIGURE,
    orthrus_table3.FIGURE,
    view_based_fig3.LARGER,
    view_based_fig3.ON_A_CLUSTER,
    view_based_fig5.FIGURE,
    view_based_fig6.ON_A_CLUSTER,
    view_based_table1.FIGURE,
    view_based_table2.FIGURE,
)
