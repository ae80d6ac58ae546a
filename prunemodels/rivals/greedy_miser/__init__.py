"""GreedyMiser (Xu, Weinberger and Chapelle 2012): boosted trees of limited depth that pay for each feature once.

Sources (the paper itself is not among the project's papers)

- BP16 section 5 (iv): gradient boosted trees of low depth; each minimises squared loss with respect to the current gradient at
  the training examples plus feature acquisition cost; costs are zero for features that earlier trees use.
- BP16 appendix 6.4: 1,000 trees on MiniBooNE and Forest, 3,000 on Yahoo and Scene15; squared loss, on Scene15 the multi-class
  logistic loss; learning rate searched from 1e-5 to 1e2.
- BP16 section 5.1: several classes take an ensemble for each class.
- CEGB17 section 4.3: first-order steps (leaves are mean gradients, not Newton steps), breadth-first growth, features computed for
  all instances at once, depth four; section 3: every tree costs all inputs the same.
- CEGB17 section 5: if trees have a price, a tree of depth four is taken to cost as much as a feature of price 1; CEGB17 turns
  this into 1/4 for each split, which here is ``evaluation_cost=0.25``.
- The authors' public MATLAB code for trees, as found in other repositories: squared residuals are *summed*, so its lambda is N
  times ours; prices drop to zero between trees; a tree always splits to its full depth; its "depth 4" counts levels of nodes,
  which is ``max_depth=3`` here.

Ours: lambda per mean squared residual; prices drop within a tree too; a tree stops where no split is worth its price; items
shared by features; prices of splits; bins; missing values; weights; the constant that boosting starts from.

Time, measured on one core: 1,000 stages of depth 4 on 35,000 x 50 (MiniBooNE) 10 to 17 s; 200 stages of 7 trees on 36,603 x 54
(Covertype) 21 to 25 s.
"""

from prunemodels.rivals.greedy_miser.estimators import GreedyMiserClassifier, GreedyMiserRegressor

__all__ = ["GreedyMiserClassifier", "GreedyMiserRegressor"]
