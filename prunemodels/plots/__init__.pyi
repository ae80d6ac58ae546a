"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from prunemodels.plots.choice import plot_budget as plot_budget, plot_choice as plot_choice
from prunemodels.plots.curves import plot_curves as plot_curves
from prunemodels.plots.cut import closure_graph as closure_graph, plot_cut as plot_cut
from prunemodels.plots.curves import plot_exits as plot_exits
from prunemodels.plots.history import plot_history as plot_history
from prunemodels.plots.trees import plot_levels as plot_levels
from prunemodels.plots.matrices import plot_decomposition as plot_decomposition, plot_matrix as plot_matrix
from prunemodels.plots.networks import draw_network as draw_network
from prunemodels.plots.networks import network_graph as network_graph, plot_certificate as plot_certificate
from prunemodels.plots.picture import Picture as Picture, save_picture as save_picture
from prunemodels.plots.tradeoff import plot_purchases as plot_purchases, plot_tradeoff as plot_tradeoff
from prunemodels.plots.trees import plot_point as plot_point, plot_trees as plot_trees
